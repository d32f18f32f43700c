/** The protocol carries values that are not valid UTF-8 as hexadecimal bytes. */

/** The UTF-8 bytes of a text. */
export function hexOf(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}

/** The text of hexadecimal bytes, with U+FFFD for invalid UTF-8. */
export function textOfHex(hex: string): string {
  return new TextDecoder().decode(bytesOfHex(hex));
}

/** The bytes of their hexadecimal digits. */
export function bytesOfHex(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}
