import { FORMAT_NOTES } from "../format/formats";

/** The formats that are detected, below what a person came for. */
export function Formats() {
  return (
    <div class="formats">
      <h2>Formats that are detected</h2>
      <ul>
        {FORMAT_NOTES.map(([names, note]) => (
          <li key={note}>
            <strong>{names.join(", ")}</strong> {note}
          </li>
        ))}
      </ul>
      <p>
        Any other <code>log_format</code> of nginx or <code>LogFormat</code> of Apache:{" "}
        <code>weir --format &quot;…&quot; FILE</code>
      </p>
    </div>
  );
}
