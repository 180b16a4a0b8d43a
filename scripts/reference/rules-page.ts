import { catalogue, liveIds } from '../../packages/onceward/src/check/catalogue.ts'
import { page, table } from './markdown.ts'

export function rulesPage(): string {
  const topics = [...new Set(catalogue.map(rule => rule.topic))]
  return page(
    'Rules of the checker',
    'What `onceward check` looks at, by where the facts come from. Those marked *live* need a server, and `--live`. Ids are stable: waivers name them.',
    ...topics.map(topic => `## ${topic.charAt(0).toUpperCase()}${topic.slice(1)}\n\n${topicTable(topic)}`),
  )
}

function topicTable(topic: string): string {
  const rows = catalogue
    .filter(rule => rule.topic === topic)
    .map(rule => [
      `\`${rule.id}\``,
      liveIds.has(rule.id) ? `${rule.severity}, *live*` : rule.severity,
      rule.title,
      rule.reason,
      rule.fix,
    ])
  return table(['id', 'severity', 'what must hold', 'why', 'fix'], rows)
}
