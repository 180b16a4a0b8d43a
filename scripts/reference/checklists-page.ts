import { questions } from '../../packages/onceward/test/check/checklist-questions.ts'

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

| question or anti-pattern | rules | answered in the contract by | shown by | how |
| --- | --- | --- | --- | --- |
${rows.map(row => `| ${[row.asks, links(row.rules), codes(row.fields), shown(row.shownBy), row.how].join(' | ')} |`).join('\n')}
`,
  )
  return `# Checklists

Reviews of consumers ask the same questions again and again. Each of them is answered here by a rule of \`onceward check\`, by a field of the contract, or by the
design, and then by the test that shows it. The rules are on [checks.md](checks.md). This page is written by \`npm run reference\` and tested against the code.

${tables.join('\n')}`
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
