import { readsLog } from '../reads-log.ts'
import { milliseconds, orNull, size, wholeNumber } from './amount-kinds.ts'
import { section } from './kind.ts'
import { computed, option } from './option.ts'
import { word } from './text-kinds.ts'

const dayMs = 86_400_000
const mib = 1024 * 1024

/** A garbage collection or a busy server would outlast a shorter lease. */
const leaseMinMs = 500

/** A shorter deadline would mistake a garbage collection for an endless loop. */
const deadlineMinMs = 1_000

/** Node itself hardly fits into less. */
const memoryMinMb = 64

/** Batch sizes, stored mode and process isolation. */
export const batchOptions = [
  option('batch', section()),
  option('batch.sizeMax', wholeNumber(1, 10_000), 'most messages in one transaction', { default: 500 }),
  option('batch.inFlightMax', wholeNumber(1, 16), 'batches in progress at a time', { default: 2 }),
  option('batch.deliveriesMax', wholeNumber(1, 65_535), 'most unsettled deliveries held in memory', {
    default: computed(get => (readsLog({ source: get('source') }) ? 3_000 : 2_000)),
    defaultText: '2000; for logs 3000',
  }),
  option('batch.bytesMax', size(1, 2 ** 40), 'most bytes of unsettled deliveries held in memory', {
    default: 64 * mib,
  }),
  option(
    'batch.handlerTimeoutMs',
    milliseconds(1, 2 ** 31 - 1),
    'time after which a handler is aborted and its transaction rolled back',
    { default: 10_000 },
  ),
  option('inbox', section()),
  option('inbox.mode', word(['transactional', 'stored']), 'when messages are applied', {
    default: 'transactional',
    defaultText: '`transactional`: in the transaction that receives them; `stored`: later, by workers',
  }),
  option('inbox.leaseMs', milliseconds(leaseMinMs, dayMs), 'how long a silent worker keeps its lease', {
    default: 30_000,
  }),
  option('inbox.workers', wholeNumber(1, 64), 'batches the workers of one process run at a time', {
    default: 2,
  }),
  option('isolation', section()),
  option('isolation.mode', word(['none', 'child']), 'the process in which handlers run', {
    default: 'none',
    defaultText: "`none`: in the consumer's own process",
  }),
  option(
    'isolation.deadlineMs',
    milliseconds(deadlineMinMs, dayMs),
    'how long the child may be silent before it is killed',
    {
      default: computed(get => Math.max(deadlineMinMs, get('batch.handlerTimeoutMs'))),
      defaultText: '`batch.handlerTimeout`',
    },
  ),
  option('isolation.memoryMaxMb', orNull(size(memoryMinMb, 2 ** 20, mib)), "the child's heap, in whole MiB", {
    policyKey: 'isolation.memoryMax',
    default: null,
    defaultText: "Node's own limit",
  }),
]
