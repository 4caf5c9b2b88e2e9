/** Text that the formats share: UTF-8, numbers and times, and the explanation of a bad record. */
package io.milepost.decode.text;
