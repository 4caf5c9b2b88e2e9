/** The JSON format. */
package io.milepost.decode.json;
