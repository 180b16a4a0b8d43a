export type InstallNeed = 'production' | 'everything'

export type LockEntry = {
  version?: string
  integrity?: string
  resolved?: string
  link?: boolean
  dev?: boolean
  optional?: boolean
  devOptional?: boolean
  peer?: boolean
  os?: string | string[]
  cpu?: string | string[]
  libc?: string | string[]
}

export type Lock = { packages: Record<string, LockEntry> }
export type Platform = { os: string; cpu: string; libc?: string | undefined }

export function missingPackages(
  lock: Lock,
  installed: Lock | undefined,
  need: InstallNeed,
  platform: Platform,
): string[]
export function installArguments(need: InstallNeed): string[]
