import { requirements } from '../../packages/onceward/test/requirements/all.ts'
import type { Requirement, RequirementState } from '../../packages/onceward/test/requirements/requirement.ts'
import { documents, type SourceDocument } from '../../packages/onceward/test/requirements/sections.ts'
import { proofPath, sourcePath } from '../../packages/onceward/test/requirements/where.ts'

const states: readonly RequirementState[] = ['met', 'partly', 'open']

/** `docs/requirements.md`, from the rows in `test/requirements`. */
export function requirementsPage(): string {
  const all = documents.flatMap(({ id }) => Object.values(requirements[id]).flat())
  return `# Requirements

Onceward was written from four documents about consumers. This page has a row for every requirement of every
section, in our words: the code that answers it, and the test that shows it. Sections that only introduce,
summarise or link have one row that says so. Document 002 has the text of 000 and is not repeated.

The rows are data in \`packages/onceward/test/requirements\`. The build fails when a section has no row, when a
named file or test does not exist, or when this page is out of date. \`npm run reference\` writes it.

| document | about | met | partly | open |
| --- | --- | --- | --- | --- |
${documents.map(({ id, about }) => `| [${id}](#${anchor(id, about)}) | ${about} | ${counts(Object.values(requirements[id]).flat())} |`).join('\n')}
| all | | ${counts(all)} |

${documents.map(chapter).join('\n')}`
}

function chapter({ id, about, sections }: SourceDocument): string {
  const rows = sections.flatMap(([number, title]) =>
    (requirements[id][number] ?? []).map((requirement, index) =>
      row(index === 0 ? sectionName(number, title) : '', requirement),
    ),
  )
  return `## ${id}: ${about}

| section | requirement | state | code | test |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
`
}

const sectionName = (number: string, title: string) => (/^\d/.test(number) ? `§${number} ${title}` : title)

function row(section: string, { asks, state, files, proof, lacks }: Requirement): string {
  const code = files.map(file => linked(file, sourcePath(file))).join(', ')
  const test = proof === null ? '' : `${linked(proof[0], proofPath(proof[0]))}: ${plain(proof[1])}`
  const said = lacks === null ? state : `**${state}**: ${lacks}`
  return `| ${[section, asks, said, code, test].join(' | ')} |`
}

const linked = (name: string, path: string) => `[${name}](../${path})`

/** A title as text of a cell. */
const plain = (title: string) => title.replace(/[|*_<`]/g, '\\$&')

const counts = (rows: readonly Requirement[]) =>
  states.map(state => rows.filter(one => one.state === state).length).join(' | ')

const anchor = (id: string, about: string) => `${id}-${about.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`
