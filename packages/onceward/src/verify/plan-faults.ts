import type { CrashPoint } from '../crash-points.ts'
import { randomNumbers } from './child/handler-environment.ts'
import type { ChildObservation, ContractFacts } from './child/orders.ts'
import { type Fault, type FaultClass, faultClasses } from './fault.ts'
import { type FedMessage, shuffle } from './feed.ts'

export interface Plan {
  /** In the order in which they run: every class gets its turn before any gets its second. */
  readonly faults: readonly Fault[]
  /** Classes that do not apply to this contract, with the reason. */
  readonly skipped: Readonly<Partial<Record<FaultClass, string>>>
}

/** The faults of a contract, from what a clean run passed. Pure: the same seed gives the same plan. */
export function planFaults(
  facts: ContractFacts,
  { points, statements }: Pick<ChildObservation, 'points' | 'statements'>,
  messages: readonly FedMessage[],
  { seed, only }: { readonly seed: number; readonly only: readonly FaultClass[] | null },
): Plan {
  const random = randomNumbers(seed)
  const atStatements = statements.map((_, index) => statement(index + 1))
  const spread = (kind: FaultClass) => shuffle(atStatements, random).map(trigger => fault(kind, trigger))
  const byClass: Record<FaultClass, readonly Fault[]> = {
    point: pointsOf(points),
    statement: firstThenRest(statements).map(number => fault('statement', statement(number))),
    rollback: commits(messages.length).map(number => ({ class: 'rollback', trigger: null, number })),
    commit: commits(messages.length).map(number => ({ class: 'commit', trigger: null, number })),
    freeze: [
      ...spread('freeze').slice(0, 2),
      at('freeze', 'batch.received'),
      at('freeze', 'batch.committed'),
    ],
    moving: [...spread('moving').slice(0, 1), at('moving', 'batch.concluded')],
    restart: [...spread('restart').slice(0, 3), at('restart', 'batch.concluded')],
    processes: [whole('processes')],
    batch: [whole('batch')],
    order: [1, 2, 3].map(number => ({ class: 'order', trigger: null, number })),
    twice: [whole('twice')],
    late: [whole('late')],
    conflict: [whole('conflict')],
    resent: [whole('resent')],
    campaign: [whole('campaign')],
    rebuild: [whole('rebuild')],
    poison: [whole('poison')],
  }
  const wanted = (Object.keys(faultClasses) as FaultClass[]).filter(kind => only?.includes(kind) ?? true)
  const skipped = Object.fromEntries(
    Object.entries(skippedClasses(facts, messages)).filter(([kind]) => wanted.includes(kind as FaultClass)),
  )
  const lists = wanted.filter(kind => skipped[kind] === undefined).map(kind => byClass[kind])
  return { faults: inTurns(lists), skipped }
}

const statement = (number: number) => ({ on: 'statement', number }) as const
const fault = (kind: FaultClass, trigger: Fault['trigger']): Fault => ({ class: kind, trigger, number: 1 })
const whole = (kind: FaultClass) => fault(kind, null)
const at = (kind: FaultClass, point: CrashPoint) => fault(kind, { on: 'point', point, hit: 1 })

/** The first passage of each point, then one in the middle. */
function pointsOf(points: ChildObservation['points']): Fault[] {
  const passed = Object.entries(points).filter(([, hits]) => hits > 0) as [CrashPoint, number][]
  const middle = passed.filter(([, hits]) => hits > 2)
  return [
    ...passed.map(([point]) => at('point', point)),
    ...middle.map(([point, hits]) => fault('point', { on: 'point', point, hit: Math.ceil((hits + 1) / 2) })),
  ]
}

/** Numbers of statements: one for each different text first, then the others. */
function firstThenRest(statements: readonly string[]): number[] {
  const numbers = statements.map((_, index) => index + 1)
  const firsts = numbers.filter(number => statements.indexOf(statements[number - 1]!) === number - 1)
  return [...firsts, ...numbers.filter(number => !firsts.includes(number))]
}

const commits = (messages: number) => (messages > 1 ? [1, 2] : [1])

function skippedClasses(
  { order, needsLog, modes, hasBusinessKey }: ContractFacts,
  messages: readonly FedMessage[],
): Plan['skipped'] {
  const keys = new Set(messages.map(({ key }) => key))
  return {
    ...(order === 'partition' && { order: "the contract's order is partition" }),
    ...(order === 'key' && keys.size < 2 && { order: 'the samples have one order key' }),
    ...(messages.length < 2 && {
      order: 'one sample',
      processes: 'one sample',
      moving: 'one sample',
      batch: 'one sample',
    }),
    ...(messages.every(({ described }) => described.conflict === null) && {
      conflict: 'no field of the samples can change under the same id',
    }),
    ...(!hasBusinessKey
      ? { resent: 'the contract has no business key' }
      : messages.every(({ described }) => described.resent === null) && {
          resent: 'the samples have no field for the message id alone',
        }),
    ...(needsLog && { processes: 'a partition has one reader at a time' }),
    ...(messages.some(({ described }) => !described.bodyAlone) && {
      campaign: 'the file of a campaign cannot carry headers or line breaks',
      rebuild: 'the file of a campaign cannot carry headers or line breaks',
    }),
    ...(!modes.includes('replay') && { campaign: 'the contract does not allow replay' }),
    ...(!modes.includes('rebuild') && { rebuild: 'the contract does not allow rebuild' }),
  }
}

function inTurns(lists: readonly (readonly Fault[])[]): Fault[] {
  const longest = Math.max(0, ...lists.map(list => list.length))
  const turns = Array.from({ length: longest }, (_, turn) => lists.flatMap(list => list[turn] ?? []))
  return turns.flat()
}
