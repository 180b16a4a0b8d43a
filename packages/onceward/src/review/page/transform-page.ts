import type { Transform } from '../../contract/define-transform.ts'
import type { Consumer } from '../../index.ts'
import { behaviourOf } from './behaviour.ts'
import type { ContractPage } from './contract-page.ts'
import { describeFrom, describeGroup, describeSource } from './describe.ts'
import { sourceAssumptions } from './promise.ts'
import { objectivesText, orderText, ownerText, saidOf } from './section-texts.ts'

/** The page of a transform. Pure. */
export function transformPage(transform: Transform): ContractPage {
  const { name, owner, risk, description, source, generation, identity, failure } = transform
  const consumer = transform as unknown as Consumer
  const behaviour = behaviourOf(consumer)
  const input = describeSource(source)
  const to = transform.to.join(', ')
  return {
    kind: 'transform',
    name,
    owner,
    risk,
    description: description ?? null,
    sections: [
      { title: 'Name', text: name },
      { title: 'Input topic', text: `${input.kind} ${input.name}` },
      { title: 'Output topics', text: to },
      { title: 'Group ID', text: describeGroup(source, name, generation) },
      { title: 'Partition key assumption', text: 'records that depend on each other are in one partition' },
      { title: 'Delivery target', text: 'outputs exactly once for readers of committed records' },
      { title: 'Side effect', text: `records in ${to}; effects outside Kafka may be repeated` },
      { title: 'Idempotency key', text: `position in the log; message id: ${describeFrom(identity.id)}` },
      { title: 'Commit point', text: 'outputs, dead letters and offsets are one Kafka transaction' },
      {
        title: 'Duplicate behavior',
        text: 'redelivered records are before the position and are not read; an event that was sent twice is transformed twice',
      },
      { title: 'Out-of-order behavior', text: orderText(consumer, behaviour) },
      { title: 'Poison behavior', text: poisonText(transform, behaviour) },
      { title: 'Replay behavior', text: 'not offered: a group that is set back writes its outputs again' },
      { title: 'Objectives', text: objectivesText(consumer, false) },
      { title: 'Owner', text: ownerText(consumer) },
    ],
    behaviour,
    promise: [
      {
        sink: 'kafka',
        name: null,
        often: 'once per record',
        text: 'The outputs of a record and its consumed offset become visible in one Kafka transaction. The same event written to the log twice is two records.',
        assumes: [
          'readers use isolation.level=read_committed',
          'no operator sets the offsets of the group back',
          'the group is not empty for longer than offsets.retention.minutes',
        ],
      },
      ...(failure.deadLetter === null
        ? []
        : [
            {
              sink: 'kafka' as const,
              name: failure.deadLetter,
              often: 'once per record' as const,
              text: 'A dead letter is written in the transaction that commits the offset of its record.',
              assumes: ['readers use isolation.level=read_committed'],
            },
          ]),
    ],
    assumptions: sourceAssumptions(source),
    notPromised: [
      'Actions of the function outside Kafka (its own calls, files, tables) may be repeated.',
      'Attempts are counted per process: after a crash or a rebalance they begin again.',
      'A record that crashes its process crashes the next one too.',
    ],
  }
}

function poisonText({ failure }: Transform, behaviour: ContractPage['behaviour']): string {
  const { deadLetter, deadLetterOwner, exhausted, rules } = failure
  const sameMax = exhausted === 'stop' ? null : rules.unclassified.sameMax
  return [
    saidOf(behaviour, ['transient', 'poison', 'invalid', 'undecodable', 'tombstone']),
    ...(sameMax === null ? [] : [`a record that fails ${sameMax} times in the same way is poison`]),
    deadLetter === null
      ? 'without a dead-letter topic the transform halts'
      : `records that are set aside go to ${deadLetter}, and the partition continues`,
    `${deadLetterOwner} is responsible for them`,
  ].join('; ')
}
