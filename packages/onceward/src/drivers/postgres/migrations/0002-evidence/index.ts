import { columns } from './columns.ts'
import { receipts } from './receipts.ts'

/** What an auditor asks about a message, its effects and its work. */
export const evidence = [receipts, columns].join('')
