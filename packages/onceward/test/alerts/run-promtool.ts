import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensurePromtool } from '../../../../scripts/services/promtool.ts'

const found = await ensurePromtool({ log: line => console.error(line) })

/**
 * Skips with the reason where promtool cannot be had; with CI=true nothing is skipped, and what needs it
 * fails.
 */
export const withPromtool: { skip?: string } =
  'unavailable' in found && process.env.CI !== 'true' ? { skip: found.unavailable } : {}

/** Runs promtool in a folder of its own with these files. */
export function promtool(args: readonly string[], files: Readonly<Record<string, string>>) {
  if ('unavailable' in found) throw new Error(found.unavailable)
  const folder = mkdtempSync(join(tmpdir(), 'onceward-promtool-'))
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    const { status, stdout, stderr } = spawnSync(found.path, args, { cwd: folder, encoding: 'utf8' })
    return { status, output: `${stdout}${stderr}` }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
