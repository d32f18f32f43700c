import type { ServiceLimit } from "../../generated/ServiceLimit";
import { shownLimit } from "./limits";

/** Above this part of a limit, the bar has the colour of a warning. */
const HIGH = 0.85;

/** What the process uses of its limits. */
export function Limits({ limits }: { limits: readonly ServiceLimit[] }) {
  if (limits.length === 0) return null;
  return (
    <section class="panel limits" aria-labelledby="limits-title">
      <h2 id="limits-title">Limits</h2>
      <dl>
        {limits.map(shownLimit).map(({ name, effect, text, share }) => (
          <div key={name} title={effect}>
            <dt>{name}</dt>
            <dd>
              {text}
              {share !== null && (
                <meter
                  aria-label={name}
                  aria-valuetext={text}
                  min={0}
                  max={1}
                  high={HIGH}
                  optimum={0}
                  value={share}
                />
              )}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
