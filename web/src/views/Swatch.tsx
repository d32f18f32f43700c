interface Props {
  color: string;
  /** The line along the top of a pale colour. */
  edge: string | null;
}

/** A sample of a colour of the chart. */
export function Swatch({ color, edge }: Props) {
  const boxShadow = edge === null ? "none" : `inset 0 2px 0 ${edge}`;
  return <span class="swatch" style={{ background: color, boxShadow }} />;
}
