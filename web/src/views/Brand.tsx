interface Props {
  href: string;
  /** For a screen reader. */
  label: string;
  name: string;
}

/** The sign of Weir, which leads to the first page. */
export function Brand({ href, label, name }: Props) {
  return (
    <a class="brand" href={href} aria-label={label}>
      <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
        <path class="water" d="M1 9h9c4 0 3 10 7 10h6" />
        <path class="wall" d="M8 21v-8l5 8z" />
      </svg>
      <span>{name}</span>
    </a>
  );
}
