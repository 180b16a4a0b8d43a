export function Mark() {
  return (
    <svg viewBox="0 0 24 24" fill="none" aria-hidden="true">
      <rect x="1" y="1" width="22" height="22" rx="7" fill="var(--accent)" />
      <path
        d="M7 12.5l3.4 3.4L17.5 8.6"
        stroke="var(--accent-text)"
        stroke-width="2.4"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  )
}
