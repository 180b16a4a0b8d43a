import { readsLog } from '../reads-log.ts'
import { milliseconds, orNull, size, wholeNumber } from './amount-kinds.ts'
import { section } from './kind.ts'
import { computed, option } from './option.ts'
import { word } from './text-kinds.ts'

const dayMs = 86_400_000
const mib = 1024 * 1024

/** Shorter leases would be lost to a garbage collection or a busy server. */
const leaseMinMs = 500

/** Shorter silences would take a garbage collection for an endless loop. */
const deadlineMinMs = 1_000

/** Below this the runtime itself hardly fits. */
const memoryMinMb = 64

/** How much at a time, when, and in which process. */
export const batchOptions = [
  option('batch', section()),
  option('batch.sizeMax', wholeNumber(1, 10_000), 'messages in a batch', { default: 500 }),
  option('batch.inFlightMax', wholeNumber(1, 16), 'batches at a time', { default: 2 }),
  option('batch.deliveriesMax', wholeNumber(1, 65_535), 'unsettled deliveries', {
    default: computed(get => (readsLog({ source: get('source') }) ? 3_000 : 2_000)),
    defaultText: '2000, of logs 3000',
  }),
  option('batch.bytesMax', size(1, 2 ** 40), 'their bytes', { default: 64 * mib }),
  option(
    'batch.handlerTimeoutMs',
    milliseconds(1, 2 ** 31 - 1),
    'after which a handler is aborted and its transaction rolled back',
    { default: 10_000 },
  ),
  option('inbox', section()),
  option('inbox.mode', word(['transactional', 'stored']), 'when the work is done', {
    default: 'transactional',
  }),
  option('inbox.leaseMs', milliseconds(leaseMinMs, dayMs), 'how long a silent worker keeps what it took', {
    default: 30_000,
  }),
  option('inbox.workers', wholeNumber(1, 64), 'batches of workers at a time', { default: 2 }),
  option('isolation', section()),
  option('isolation.mode', word(['none', 'child']), 'where handlers run', {
    default: 'none',
    defaultText: '`none`: in the process itself',
  }),
  option('isolation.deadlineMs', milliseconds(deadlineMinMs, dayMs), 'how long the child may say nothing', {
    default: computed(get => Math.max(deadlineMinMs, get('batch.handlerTimeoutMs'))),
    defaultText: '`batch.handlerTimeout`',
  }),
  option('isolation.memoryMaxMb', orNull(size(memoryMinMb, 2 ** 20, mib)), "the child's heap, in whole MiB", {
    policyKey: 'isolation.memoryMax',
    default: null,
    defaultText: 'what Node chooses',
  }),
]
