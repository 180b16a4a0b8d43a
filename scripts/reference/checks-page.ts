import { catalogue, type Topic } from '../../packages/onceward/src/review/catalogue.ts'
import { wrapped } from './markdown.ts'

const about: Record<Topic, string> = {
  contract: 'Every check applies these rules to each contract alone.',
  samples:
    'Every check calls the identity functions several times, with another clock and another random source. `--samples` names a file of messages; without it the functions get an empty message.',
  'contracts together': 'Every check applies these rules to all its contracts together.',
  RabbitMQ:
    'With `--live`. The check reads queues, exchanges, bindings, policies and alarms over AMQP and the management plugin.',
  Kafka:
    'With `--live`. The check reads metadata, configuration and the newest records, for the distribution of keys.',
  PostgreSQL:
    'With `--live`. The check reads settings, roles, the tables of Onceward, the clock, and detects a pooler.',
  'schema registry':
    'With `--live`, for codecs of `onceward/schema`. The check reads the versions of a subject; `--next-schema` names a file with the next one.',
  memory:
    'With `--live`. The check compares a contract with the consumers and markers in the database, and with the time that its source may repeat messages.',
  'the check itself': 'Contracts and servers that could not be checked, and the state of waivers.',
}

/** `docs/checks.md`: the use of the command, and every rule under its anchor. */
export function checksPage(): string {
  const topics = [...Map.groupBy(catalogue, rule => rule.topic)]
  return wrapped(`${introduction}
${topics
  .map(
    ([topic, rules]) => `## Rules: ${topic}

${about[topic]}

${rules
  .map(
    ({ id, severity, title, reason, fix }) => `### ${id}

**${title}.** (${severity})

${reason}

Fix: ${fix}
`,
  )
  .join('\n')}`,
  )
  .join('\n')}`)
}

const introduction = `# Checks

\`onceward check\` reviews contracts before they run; \`--live\` compares them with the broker and the
database they will run on. The check only reads: it declares no queue, joins no group, consumes no record and
writes no row. A server that does not answer within 15 s is a finding.

\`\`\`sh
onceward check src/consumers/*.ts
onceward check --samples messages.jsonl src/consumers/payments.ts
onceward check --live src/consumers/*.ts
onceward check --live --strict --json src/consumers/*.ts
\`\`\`

| exit code | meaning |
| --- | --- |
| 0 | no error, or all errors are waived; there may be warnings and notes |
| 1 | an error, or with \`--strict\` a warning |
| 2 | wrong use: no such file, an unknown flag |

**error**: messages or effects can be lost or doubled, or the consumer will not start. **warning**: the
consumer works until another fault occurs. **note**: for information.

The addresses of servers come from the environment (\`onceward --help\` lists the variables) or from the
contract. Without \`ONCEWARD_DATABASE_URL\` the check reads no database and starts none. It reads each server
once, for all contracts. RabbitMQ does not report its \`consumer_timeout\`; without a
policy or argument the check assumes the default of 30 minutes.

## Samples

\`--samples\` names a file of JSON lines, each a message of this consumer. A line is the body of a message; or an object with \`body\`
(or \`base64\`, for bytes that are no JSON) and, if needed, \`headers\`, \`properties\` and \`key\`. Each message is decoded, validated and identified
several times: again, with another clock, with another random source, and as a later delivery. What differs is a finding. A few dozen
recent messages are enough; two versions of one entity and a captured change show more than a hundred of one kind.

## Waivers

A team can accept a finding with a waiver in the policy file. It has a reason, an owner and an end:

\`\`\`yaml
consumers:
  legacy_import: {}
waivers:
  - rule: OW204
    consumer: legacy_import
    reason: the vendor's queue is classic until its upgrade
    owner: integration
    until: 2027-03-31
\`\`\`

Without \`consumer\`, the waiver applies to all consumers and to the servers. \`until\` is its last day, in UTC. A
waiver that has expired, matches no finding or names no rule is a finding itself.
[checklists.md](checklists.md) lists the review question that each rule answers.
`
