/** Prometheus text as `name{label="value",…}` → number, labels in order of their names. */
export function parseExposition(text: string): Map<string, number> {
  const values = new Map<string, number>()
  for (const line of text.split('\n')) {
    const found = line.match(/^([a-z_]+)(?:\{(.*)\})? (\S+)$/)
    if (found === null || line.startsWith('#')) continue
    const labels = [...(found[2] ?? '').matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(
      ([, label, value]) => `${label}="${value}"`,
    )
    values.set(`${found[1]}{${labels.sort().join(',')}}`, Number(found[3]))
  }
  return values
}

export class Scraped {
  readonly values: ReadonlyMap<string, number>

  constructor(text: string) {
    this.values = parseExposition(text)
  }

  /** Sum over all series of a metric that carry these labels. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
    let sum = 0
    for (const [series, value] of this.values) {
      if (!series.startsWith(`${name}{`)) continue
      const told = series.slice(name.length + 1, -1).split(',')
      if (wanted.every(one => told.includes(one))) sum += value
    }
    return sum
  }

  /** The series of a metric by one label. */
  by(name: string, label: string): Record<string, number> {
    const found: Record<string, number> = {}
    for (const [series, value] of this.values) {
      if (!series.startsWith(`${name}{`)) continue
      const told = series.match(new RegExp(`[{,]${label}="([^"]*)"`))?.[1]
      if (told !== undefined) found[told] = (found[told] ?? 0) + value
    }
    return found
  }
}

export async function scrape(url: string): Promise<Scraped> {
  const answer = await fetch(`${url}/metrics`)
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`)
  return new Scraped(await answer.text())
}
