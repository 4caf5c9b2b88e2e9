/** What is done to a query's plan before it starts. */
package io.milepost.plan;
