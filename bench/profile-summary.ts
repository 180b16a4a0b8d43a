import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/** The functions with the most time of their own, as shares of the time the process was not idle. */
export function profileLines(folder: string, top = 25): string[] {
  return readdirSync(folder)
    .filter(name => name.endsWith('.cpuprofile'))
    .flatMap(name => ['', name, ...topFunctions(JSON.parse(readFileSync(join(folder, name), 'utf8')), top)])
}

function topFunctions({ nodes, samples, timeDeltas }: CpuProfile, top: number): string[] {
  const labels = new Map(nodes.map(({ id, callFrame }) => [id, labelOf(callFrame)]))
  const own = new Map<string, number>()
  let busy = 0
  samples.forEach((id, index) => {
    const label = labels.get(id)!
    if (label.startsWith('(idle)') || label.startsWith('(root)')) return
    const micros = timeDeltas[index] ?? 0
    busy += micros
    own.set(label, (own.get(label) ?? 0) + micros)
  })
  const sorted = [...own].sort((a, b) => b[1] - a[1]).slice(0, top)
  return sorted.map(([label, micros]) => `  ${((100 * micros) / busy).toFixed(1).padStart(5)} %  ${label}`)
}

function labelOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  const place = url.split(/\/(?:node_modules|packages|bench)\//).at(-1)
  return `${functionName || '(anonymous)'}${place ? `  ${place}:${lineNumber + 1}` : ''}`
}
