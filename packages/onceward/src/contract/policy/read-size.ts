const unitBytes = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

/** Bytes of '512B', '64KiB', '10MiB', '1.5GiB'. Null if it is unreadable. */
export function readSize(text: unknown): number | null {
  const parts = typeof text === 'string' ? /^(\d{1,12}(?:\.\d{1,3})?) ?(B|KiB|MiB|GiB)$/.exec(text) : null
  if (parts === null) return null
  const bytes = Number(parts[1]) * unitBytes[parts[2] as keyof typeof unitBytes]
  return Number.isSafeInteger(bytes) ? bytes : null
}

/** In the largest unit that divides it. */
export function sizeText(bytes: number): string {
  const units = Object.entries(unitBytes).reverse()
  const [unit, size] = units.find(([, one]) => bytes >= one && bytes % one === 0) ?? ['B', 1]
  return `${bytes / size}${unit}`
}
