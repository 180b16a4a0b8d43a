/** The choices of a contract that affect each other in one process. Settings that only change numbers are omitted. */
export const dimensions = {
  mode: ['live', 'replay', 'backfill', 'repair', 'rebuild', 'forensic'],
  source: ['rabbitmq', 'rabbitmq-stream', 'kafka', 'postgres', 'file'],
  inbox: ['transactional', 'stored'],
  failure: ['block', 'defer', 'retry queue', 'retry topic'],
  dedup: ['marker', 'checkpoint', 'version'],
  order: ['none', 'key', 'partition'],
  store: ['pooled', 'Kysely', 'Drizzle', 'Knex', 'port'],
} as const

export type Dimension = keyof typeof dimensions
export type Combination = { readonly [D in Dimension]: (typeof dimensions)[D][number] }
export type Choice = { readonly [D in Dimension]: readonly [D, Combination[D]] }[Dimension]
export type Pair = readonly [Choice, Choice]

export const dimensionNames = Object.keys(dimensions) as Dimension[]

/** Every value of one dimension beside every value of another, once. */
export const pairs: readonly Pair[] = dimensionNames.flatMap((first, index) =>
  dimensionNames
    .slice(index + 1)
    .flatMap(second =>
      dimensions[first].flatMap(one =>
        dimensions[second].map(other => [[first, one] as Choice, [second, other] as Choice] as const),
      ),
    ),
)

export const allCombinations: readonly Combination[] = dimensionNames.reduce<Partial<Combination>[]>(
  (begun, name) => begun.flatMap(one => dimensions[name].map(value => ({ ...one, [name]: value }))),
  [{}],
) as Combination[]

export const has = (combination: Combination, [first, second]: Pair): boolean =>
  combination[first[0]] === first[1] && combination[second[0]] === second[1]

export const nameOf = (combination: Combination): string =>
  dimensionNames.map(name => combination[name]).join(' · ')
