import { visible } from "../format/text";
import { tellStory } from "./story";

interface Props {
  client: string;
  /** Whether the button has words instead of a symbol. */
  hasWords?: boolean;
}

/** Shows the story of a client. */
export function StoryButton({ client, hasWords = false }: Props) {
  return (
    <button
      type="button"
      class={hasWords ? "link" : "story-open"}
      data-testid="story-open"
      aria-label={`Story of ${visible(client)}`}
      title="What this client did: its story"
      onClick={() => tellStory(client)}
    >
      {hasWords ? `Story of ${visible(client)}` : <span aria-hidden="true">≡</span>}
    </button>
  );
}
