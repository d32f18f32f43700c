import { useState } from "preact/hooks";
import { visible } from "../format/text";
import type { Collateral } from "../generated/Collateral";
import type { RuleAnswer } from "../generated/RuleAnswer";
import { rules } from "../state/store";
import { nameNetworks } from "./control";
import { collateralText } from "./good";
import { peaksAbove } from "./limit";
import { networksOf } from "./networks";

interface Props {
  answer: RuleAnswer;
  collateral: Collateral;
  /** Where the limit line stands; `null` if there is none. */
  burst: number | null;
}

/** The good clients among those over the limit. */
export function CollateralLine({ answer, collateral, burst }: Props) {
  const isMoved = burst !== null && burst !== answer.curve?.burst;
  return (
    <p
      data-testid="collateral"
      data-good={isMoved ? peaksAbove(collateral, burst) : collateral.good}
    >
      {collateralText(answer, collateral, isMoved ? burst : null)}
      {collateral.is_incomplete && " Memory ran out for some values, so that more may be good."}
    </p>
  );
}

/** The networks whose clients are good. */
export function NetworksBox() {
  const { networks } = rules.value.lab;
  const [draft, setDraft] = useState(networks);
  const { wrong } = networksOf(draft);
  const submit = () => draft !== networks && nameNetworks(draft);
  return (
    <form
      class="networks-box"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <label>
        Networks that you know are good{" "}
        <input
          type="text"
          value={draft}
          placeholder="192.0.2.0/24 2001:db8::/32"
          title="Addresses and CIDR blocks, with spaces between them. Their clients are marked as good. Your browser keeps them."
          aria-invalid={wrong !== null}
          autoCapitalize="off"
          spellcheck={false}
          data-testid="good-networks"
          onInput={(event) => setDraft(event.currentTarget.value)}
          onBlur={submit}
        />
      </label>
      {wrong !== null && (
        <span class="networks-wrong" role="alert">
          {`“${visible(wrong)}” is not a network, and is left out.`}
        </span>
      )}
    </form>
  );
}
