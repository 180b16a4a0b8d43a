import type { Consumer } from '../../contract/define-consumer.ts'
import { durationText } from '../../contract/duration.ts'
import { maxAgeMs } from '../../contract/source-windows.ts'
import type { BrokerState, QueueState } from '../../drivers/rabbitmq/describe-broker.ts'
import type { StreamDeclaration } from '../../drivers/rabbitmq-stream/stream.ts'
import { limitSetting, maxAgeSetting } from '../queue-setting.ts'
import type { Rule } from '../rule.ts'

/** A stream as a contract names it, and its actual partitions; none if it does not exist. */
export interface StreamSubject {
  readonly consumer: Consumer
  readonly declaration: StreamDeclaration
  readonly broker: BrokerState
  readonly partitions: readonly QueueState[]
}

export const streamRules: readonly Rule<StreamSubject>[] = [
  {
    id: 'OW221',
    severity: 'error',
    title: 'The stream exists and is a stream',
    reason: 'A consumer does not create streams: their retention and placement are decided elsewhere.',
    fix: 'Create it, correct the name, or correct superStream.',
    judge: ({ declaration, partitions }) => {
      const kind = declaration.superStream ? 'super stream' : 'stream'
      if (partitions.length === 0) return `${kind} ${declaration.stream} does not exist`
      const other = partitions.find(one => one.type !== 'stream')
      return other === undefined ? null : `${other.name} is a ${other.type} queue`
    },
  },
  {
    id: 'OW222',
    severity: 'warning',
    title: 'The stream keeps the records that campaigns may read',
    reason: 'A campaign that reads further back than the stream halts with a declared loss.',
    fix: 'Raise max-age, or shorten replay.window.',
    judge: ({ consumer, partitions }) =>
      partitions.flatMap(one => {
        const ms = maxAgeMs(String(maxAgeSetting(one) ?? ''))
        const { windowMs } = consumer.replay
        return ms !== null && windowMs !== null && ms < windowMs
          ? [`${one.name} keeps ${durationText(ms)}, replay.window is ${durationText(windowMs)}`]
          : []
      }),
  },
  {
    id: 'OW223',
    severity: 'warning',
    title: 'Records are removed by age, not by size alone',
    reason:
      'With a size limit, a burst removes records that a slow consumer has not read, at no predictable time.',
    fix: 'Set max-age, and max-length-bytes well above the volume of that time.',
    judge: ({ partitions }) =>
      partitions
        .filter(
          one =>
            typeof limitSetting(one, 'max-length-bytes') === 'number' && maxAgeSetting(one) === undefined,
        )
        .map(
          one => `${one.name} is cut at ${limitSetting(one, 'max-length-bytes')} bytes and has no max-age`,
        ),
  },
]
