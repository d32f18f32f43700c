/**
 * The value that an object has under a name of the log; `undefined` if it has none. A field or value
 * named `constructor` does not find what every object inherits.
 */
export function ownValue<T>(record: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
