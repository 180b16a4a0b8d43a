import type { SchemaComparison } from '../../message/codec.ts'
import type { Rule } from '../rule.ts'

export interface SchemaSubject {
  readonly comparison: SchemaComparison
  /** Whether a next version was given. */
  readonly next: boolean
}

const gate = 'Give the reader defaults for what old versions lack, or handle both, before it is deployed.'

/** What a consumer reads, compared with the subject of its messages at the schema registry. */
export const schemaRules: readonly Rule<SchemaSubject>[] = [
  {
    id: 'OW601',
    severity: 'error',
    title: 'The consumer reads every version of its subject',
    reason: 'Messages of such a version are undecodable: they are set aside, and a replay of history too.',
    fix: gate,
    judge: ({ comparison: { subject, unreadable } }) =>
      unreadable.flatMap(({ version, reason }) =>
        version === 'next' ? [] : [`version ${version} of ${subject}: ${reason}`],
      ),
  },
  {
    id: 'OW602',
    severity: 'error',
    title: 'The consumer reads the next version of its subject',
    reason: 'The producer would send messages that this consumer sets aside.',
    fix: 'Deploy a consumer that reads the next version first, or change the next version.',
    judge: ({ comparison: { subject, unreadable, notCompared }, next }) => {
      if (next && notCompared !== null && unreadable.length === 0 && !notCompared.startsWith('the subject'))
        return `the next version of ${subject} was not compared: ${notCompared}`
      return unreadable.flatMap(({ version, reason }) =>
        version === 'next' ? [`the next version of ${subject}: ${reason}`] : [],
      )
    },
  },
  {
    id: 'OW603',
    severity: 'error',
    title: 'The registry accepts the next version',
    reason: 'A producer that registers it is refused, and one that looks it up does not find it.',
    fix: 'Change the next version, or the compatibility that the subject demands.',
    judge: ({ comparison: { subject, registry, refused } }) =>
      refused.map(reason => `${registry} refuses the next version of ${subject}: ${reason}`),
  },
  {
    id: 'OW604',
    severity: 'warning',
    title: 'The consumer’s schema can be compared with its subject',
    reason: 'An incompatible version is then found by its first message, not by a build.',
    fix: 'Give the codec a reader schema and the subject of the messages.',
    judge: ({ comparison: { subject, notCompared }, next }) =>
      notCompared === null || (next && !notCompared.startsWith('the subject'))
        ? null
        : `${subject}: ${notCompared}`,
  },
]
