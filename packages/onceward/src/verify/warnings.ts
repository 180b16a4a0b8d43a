import type { Baseline, VolatileColumn } from './clean-run.ts'
import { type Diagnosis, diagnoseLeak, leakKinds, randomRowKey, volatileRows } from './diagnose.ts'

/** What clean runs showed that is often right, one entry for each kind. Pure. */
export function warningsOf(baseline: Baseline, keyColumns: ReadonlySet<string>): Diagnosis[] {
  return [...leakWarnings(baseline), ...keyWarnings(baseline, keyColumns), ...tableWarnings(baseline)]
}

const shownMax = 5

function leakWarnings({ leaks }: Baseline): Diagnosis[] {
  const mild = leaks.filter(({ kind }) => !leakKinds.includes(kind))
  return [...Map.groupBy(mild, ({ kind }) => kind)].map(([kind, found]) => {
    const names = found.slice(0, shownMax).map(({ what }) => what)
    return diagnoseLeak({ kind, what: names.join(', ') })
  })
}

function keyWarnings({ volatile, volatileTables }: Baseline, keyColumns: ReadonlySet<string>): Diagnosis[] {
  const inTable = (column: string) => volatileTables.some(({ table }) => column.startsWith(`${table}.`))
  return volatile
    .filter(({ column, from }) => from === 'handler' && keyColumns.has(column) && !inTable(column))
    .map(({ column }) => randomRowKey(column))
}

function tableWarnings({ volatileTables }: Baseline): Diagnosis[] {
  const sources: readonly VolatileColumn['from'][] = ['database', 'handler']
  return sources.flatMap(from => {
    const tables = volatileTables.filter(one => one.from === from).map(({ table }) => table)
    return tables.length === 0 ? [] : [volatileRows(tables, from)]
  })
}
