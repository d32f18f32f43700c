import { visible } from "../format/text";
import { subjectOf } from "../state/story";
import { tellStory } from "./tell";

interface Props {
  /** The value whose story it is, of a field that has stories. */
  value: string;
  field?: string;
  /** Whether the button has words instead of a symbol. */
  hasWords?: boolean;
}

/** Shows the story of a client, a network or a user; nothing if the field has none. */
export function StoryButton({ value, field = "client", hasWords = false }: Props) {
  const of = subjectOf(field, value);
  if (of === null) return null;
  return (
    <button
      type="button"
      class={hasWords ? "link" : "story-open"}
      data-testid="story-open"
      aria-label={`Story of ${visible(value)}`}
      title={`What this ${field} did: its story`}
      onClick={() => tellStory(of)}
    >
      {hasWords ? `Story of ${visible(value)}` : <span aria-hidden="true">≡</span>}
    </button>
  );
}
