import { catalogue, type Topic } from '../../packages/onceward/src/review/catalogue.ts'

const about: Record<Topic, string> = {
  contract: 'Looked at by every check, from the contract alone.',
  'contracts together': 'Looked at by every check, over all contracts that are given to it.',
  RabbitMQ:
    'With `--live`. Queues, exchanges, bindings, policies and alarms, asked over AMQP and the management plugin.',
  Kafka: 'With `--live`. Metadata and configuration, and the newest records for how keys are spread.',
  PostgreSQL: 'With `--live`. Settings, roles, our own tables, the clock, and what stands between.',
  memory: 'With `--live`. A contract against what the database remembers and what its source may repeat.',
  'the check itself': 'What could not be judged, and what became of waivers.',
}

/** `docs/checks.md`: the use of the command, and every rule under its anchor. */
export function checksPage(): string {
  const topics = [...Map.groupBy(catalogue, rule => rule.topic)]
  return `${introduction}
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
  .join('\n')}`
}

const introduction = `# Checks

\`onceward check\` reviews contracts before they run; \`--live\` compares them with the broker and the database they will run on. It only reads:
no queue is declared, no group joined, no record consumed, no row written. A server that does not answer within 15 s is a finding.

\`\`\`sh
onceward check src/consumers/*.ts
onceward check --live src/consumers/*.ts
onceward check --live --strict --json src/consumers/*.ts
\`\`\`

| exit code | meaning |
| --- | --- |
| 0 | nothing wrong, or all of it waived; warnings and notes may be there |
| 1 | an error; with \`--strict\` a warning too |
| 2 | wrong use: no such file, an unknown flag |

**error**: messages or effects can be lost or doubled, or the consumer will not start. **warning**: it works until something else happens.
**note**: for information.

Servers are named by the environment (\`onceward --help\` lists the variables) or by the contract itself. Without \`ONCEWARD_DATABASE_URL\` the check reads no database
and starts none. It reads each server once, for all contracts. RabbitMQ does not report its \`consumer_timeout\`; without a
policy or argument the check assumes the default of 30 minutes.

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

Without \`consumer\` it holds for all of them and for the servers. \`until\` is its last day, in UTC. A waiver that has expired, matches no finding or names no rule is a
finding itself. The review question that each rule answers is in [checklists.md](checklists.md).
`
