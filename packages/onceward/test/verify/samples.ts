import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { VerifyOptions } from 'onceward/testing'
import { request } from '../../../../examples/01-payment-capture/produce.ts'
import { caseEvent } from '../../../../examples/02-case-projection/produce.ts'
import { life } from '../../../../examples/04-case-workflow/produce.ts'
import { answered } from '../../../../examples/06-sla-windows/produce.ts'

const examples = join(import.meta.dirname, '../../../../examples')

interface ExampleScene {
  readonly file: string
  /** The folder's tables.sql, unless it has none. */
  readonly tables?: string
  readonly rows?: string
  readonly samples: readonly unknown[]
  readonly more?: Partial<VerifyOptions>
}

const shipped = (order: number) => ({
  messageId: `evt-${order}`,
  orderId: `o-${order}`,
  parcel: `p-${order}`,
  customer: { name: 'Ada Lovelace', email: `ada${order}@shop.example` },
})

/** The examples with messages that show what they do. */
export const exampleScenes: Readonly<Record<string, ExampleScene>> = {
  '01': {
    file: '01-payment-capture/payment-capture.ts',
    tables: '01-payment-capture/tables.sql',
    rows: "insert into merchant values ('merchant-1')",
    samples: [1, 2, 3].map(n => JSON.parse(request(n))),
  },
  '02': {
    file: '02-case-projection/case-projection.ts',
    tables: '02-case-projection/tables.sql',
    samples: [caseEvent('a', 1), caseEvent('b', 1), caseEvent('a', 2), caseEvent('b', 2)],
  },
  '04': {
    file: '04-case-workflow/case-workflow.ts',
    tables: '04-case-workflow/tables.sql',
    samples: life('case-1', 3),
  },
  '05': { file: '05-notifications/notifications.ts', samples: [1, 2, 3].map(shipped) },
  '06': {
    file: '06-sla-windows/sla-windows.ts',
    tables: '06-sla-windows/tables.sql',
    samples: [answered('e1', 1), answered('e2', 5, { breached: true }), answered('e3', 9)],
  },
}

export function exampleOptions({ file, tables, rows, samples, more }: ExampleScene): VerifyOptions {
  return {
    file: join(examples, file),
    samples,
    prepare: async pool => {
      if (tables !== undefined) await pool.query(readFileSync(join(examples, tables), 'utf8'))
      if (rows !== undefined) await pool.query(rows)
    },
    ...more,
  }
}
