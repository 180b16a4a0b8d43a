import type { UnservedWork } from '../drivers/postgres/status/unserved-work.ts'

export function lackText({ consumer, generation, campaign }: UnservedWork): string {
  return campaign === null
    ? `a worker of ${consumer}, generation ${generation}`
    : `the approval of campaign ${campaign}`
}
