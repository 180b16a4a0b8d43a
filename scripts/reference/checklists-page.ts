import { questions } from '../../packages/onceward/test/check/checklist-questions.ts'
import { wrapped } from './markdown.ts'

const titles: Record<string, string> = {
  '000 §25': 'Anti-patterns of queue consumers (000 §25)',
  '000 §26': 'Review of a queue consumer (000 §26)',
  '001 §35': 'Anti-patterns of delivery (001 §35)',
  '001 §37': 'Review of delivery (001 §37)',
  '003 §23': 'Anti-patterns of inboxes (003 §23)',
  '003 §24': 'Review of an inbox (003 §24)',
  '004 §29': 'Review of a log consumer (004 §29)',
  '004 §30': 'Anti-patterns of log consumers (004 §30)',
}

/** `docs/checklists.md`, from the list of questions. */
export function checklistsPage(): string {
  const tables = [...Map.groupBy(questions, question => question.section)].map(
    ([section, rows]) => `## ${titles[section]}

| question or anti-pattern | rules | contract fields | test | answer |
| --- | --- | --- | --- | --- |
${rows.map(row => `| ${[row.asks, links(row.rules), codes(row.fields), shown(row.shownBy), row.how].join(' | ')} |`).join('\n')}
`,
  )
  return wrapped(`# Checklists

Reviews of consumers ask the same questions. A rule of \`onceward check\`, a field of the contract or the design
answers each of them; a test shows each answer of the design. [checks.md](checks.md) describes the rules.
\`npm run reference\` writes this page, and a test compares it with the code.

${tables.join('\n')}`)
}

function links(rules: readonly string[] = []): string {
  return rules.map(id => `[${id}](checks.md#${id.toLowerCase()})`).join(' ')
}

function codes(fields: readonly string[] = []): string {
  return fields.map(field => `\`${field}\``).join(' ')
}

function shown(by: readonly [string, string] | undefined): string {
  return by === undefined ? '' : `\`test/${by[0]}\``
}
