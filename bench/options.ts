import { parseArgs } from 'node:util'

const parts = [
  'rabbitmq',
  'postgres',
  'kafka',
  'stream',
  'effects',
  'failure',
  'history',
  'markers',
  'curves',
  'purge',
  'explain',
  'rebalance',
  'transform',
  'latency',
  'memory',
  'metrics',
  'receipts',
  'check',
  'peers',
] as const
export type Part = (typeof parts)[number]

export interface Options {
  readonly parts: readonly Part[]
  /** Null: all of them. */
  readonly roles: readonly string[] | null
  readonly json: boolean
  readonly profileFolder: string | null
  /** The bench writes its tables and charts into docs/. */
  readonly writeDocs: boolean
  readonly rounds: number
  readonly quick: boolean
  readonly count: number
  readonly logCount: number
  readonly slowCount: number
  readonly effectCount: number
  readonly failureCount: number
  readonly historyRows: number
  readonly markerRows: number
  readonly purgeRows: number
  readonly explainRows: number
  readonly latencySeconds: number
  readonly memoryCount: number
  readonly rebalanceCount: number
  /** Messages of one run of a peer that handles batches, and of one that handles messages one by one. */
  readonly peerCount: number
  readonly slowPeerCount: number
  readonly peerKills: number
}

export const usage = `Usage: npm run bench -- [--only ${parts.join('|')}] [--roles a,b] [--json] [--quick] [--rounds n] [--profile folder] [--write-docs]
  --only     one part alone; a comma joins several. Memory alone takes a million messages, otherwise 300,000. Receipts, history, markers, curves, purge, explain, transform, check and peers only when named
  --roles    only these contenders, such as 'hand batch,batch form'; of the peers those whose name contains a part
  --json     ends with one line {"rows": [...], "ratios": {...}}
  --quick    two rounds with fewer messages: for a look, not for a claim
  --rounds   rounds that count (default 5)
  --profile  writes a CPU profile of every Onceward process into the folder and lists where the time went
  --write-docs  writes the tables and charts of peers and curves into docs/benchmarks.md`

export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      roles: { type: 'string' },
      json: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      profile: { type: 'string' },
      'write-docs': { type: 'boolean', default: false },
    },
  })
  const chosen = (values.only?.split(',') ??
    parts.filter(
      part =>
        ![
          'receipts',
          'history',
          'markers',
          'curves',
          'purge',
          'explain',
          'transform',
          'check',
          'peers',
        ].includes(part),
    )) as readonly Part[]
  const unknown = chosen.filter(part => !parts.includes(part))
  if (unknown.length > 0) throw new Error(`There is no part ${unknown.join(', ')}.\n${usage}`)
  const rounds = Number(values.rounds ?? (values.quick ? 2 : 5))
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new Error(`--rounds takes a whole number from 1.\n${usage}`)
  const alone = values.only !== undefined
  return {
    parts: chosen,
    roles: values.roles?.split(',') ?? null,
    json: values.json,
    profileFolder: values.profile ?? null,
    writeDocs: values['write-docs'],
    rounds,
    quick: values.quick,
    count: values.quick ? 20_000 : 60_000,
    logCount: values.quick ? 40_000 : 240_000,
    slowCount: values.quick ? 3_000 : 10_000,
    effectCount: values.quick ? 10_000 : 40_000,
    failureCount: values.quick ? 20_000 : 60_000,
    historyRows: values.quick ? 500_000 : 10_000_000,
    markerRows: values.quick ? 500_000 : 50_000_000,
    purgeRows: values.quick ? 2_000_000 : 10_000_000,
    explainRows: values.quick ? 1_000_000 : 10_000_000,
    latencySeconds: values.quick ? 4 : 10,
    memoryCount: values.quick ? 100_000 : alone ? 1_000_000 : 300_000,
    rebalanceCount: values.quick ? 400_000 : 800_000,
    peerCount: values.quick ? 15_000 : 60_000,
    slowPeerCount: values.quick ? 1_500 : 6_000,
    peerKills: values.quick ? 1 : 3,
  }
}
