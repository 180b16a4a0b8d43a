import { behaviourText } from './behaviour.ts'
import type { ContractPage } from './contract-page.ts'
import { code, plain } from './markdown.ts'

/** The page as Markdown. Text from a contract is escaped. */
export function renderPage(page: ContractPage): string {
  const rows = page.sections.map(
    ({ title, text }) => `| ${title} | ${title === 'Name' ? code(text) : plain(text)} |`,
  )
  const sinks = page.promise.map(
    ({ sink, name, often, text, assumes }) =>
      `| ${name === null ? sink : `${sink} ${code(name)}`} | **${often}** | ${plain(text)} | ${plain(assumes.join('; ')) || '-'} |`,
  )
  const situations = page.behaviour.map(one => `| ${plain(one.when)} | ${plain(behaviourText(one))} |`)
  const list = (lines: readonly string[]) => lines.map(line => `- ${plain(line)}`).join('\n')
  return [
    `# ${page.kind === 'transform' ? 'Transform' : 'Consumer'} contract: ${code(page.name)}`,
    ...(page.description === null ? [] : [plain(page.description)]),
    `| | |\n| --- | --- |\n${rows.join('\n')}\n| Risk | ${plain(page.risk)} |`,
    '## Guarantees',
    `| sink | effect | how | provided that |\n| --- | --- | --- | --- |\n${sinks.join('\n')}`,
    '## Outcomes of other messages',
    `| situation | outcome |\n| --- | --- |\n${situations.join('\n')}`,
    '## Assumptions',
    list(page.assumptions),
    '## Not guaranteed',
    list(page.notPromised),
  ].join('\n\n')
}
