interface Family {
  readonly head: readonly string[]
  readonly samples: string[]
}

/**
 * The metrics of several processes as one Prometheus page. The n-th text gets the label `process="n"` on
 * every sample; a text that is alone stays as it is. A page may describe each metric only once.
 */
export function mergeExpositions(texts: readonly string[]): string {
  if (texts.length === 1) return texts[0]!
  const families = new Map<string, Family>()
  texts.forEach((text, index) => {
    let family: Family | null = null
    let head: string[] = []
    for (const line of text.split('\n')) {
      if (line === '') continue
      if (line.startsWith('#')) {
        head.push(line)
        family = null
        continue
      }
      family ??= familyOf(families, head, line)
      head = []
      family.samples.push(labelled(line, index + 1))
    }
  })
  return [...families.values()].flatMap(({ head, samples }) => [...head, ...samples, '']).join('\n')
}

function familyOf(families: Map<string, Family>, head: string[], sample: string): Family {
  const described = head.at(-1)?.split(' ')[2]
  const name = described ?? sample.slice(0, nameEnd(sample))
  const known = families.get(name)
  if (known !== undefined) return known
  const family = { head, samples: [] }
  families.set(name, family)
  return family
}

/** A name has no blank and no brace; the values of labels may have both. */
function nameEnd(sample: string): number {
  return sample.search(/[{ ]/)
}

function labelled(sample: string, process: number): string {
  const end = nameEnd(sample)
  const rest = sample[end] === '{' ? `,${sample.slice(end + 1)}` : `}${sample.slice(end)}`
  return `${sample.slice(0, end)}{process="${process}"${rest}`
}
