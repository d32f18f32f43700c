/** The tab to which a key leads, by its place among them; `null` if the key is another. */
export function tabOfKey(key: string, at: number, length: number): number | null {
  switch (key) {
    case "ArrowRight":
      return (at + 1) % length;
    case "ArrowLeft":
      return (at + length - 1) % length;
    case "Home":
      return 0;
    case "End":
      return length - 1;
    default:
      return null;
  }
}
