/** The protocol carries values that are not valid UTF-8 as hexadecimal bytes. */

/** The UTF-8 bytes of a text. */
export function hexOf(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}

/** The text of hexadecimal bytes, with U+FFFD for invalid UTF-8. */
export function textOfHex(hex: string): string {
  const pairs = hex.match(/../g) ?? [];
  return new TextDecoder().decode(Uint8Array.from(pairs, (pair) => parseInt(pair, 16)));
}
