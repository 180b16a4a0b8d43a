import type { FileHandle } from 'node:fs/promises'

export interface Line {
  /** Without its line end; only the beginning of a line that is too long. */
  readonly body: Buffer
  /** Bytes of the whole line, when that is more than was kept. */
  readonly bytes: number
  readonly at: number
  readonly next: number
}

export interface Lines {
  readonly lines: readonly Line[]
  readonly next: number
  /** No complete line follows `next` at present. */
  readonly atEnd: boolean
  /** Bytes after `next` that are not a complete line yet. */
  readonly rest: number
}

const chunkBytes = 256 * 1024
/** The part that is kept of a line that is too long: enough to recognise it. */
const keptBytes = 64 * 1024
const lineFeed = 0x0a
const carriageReturn = 0x0d

/**
 * The complete lines from an offset on, a chunk at a time. A line is complete with its line feed; with
 * `final` the rest counts as one, too. Memory is bounded by `lineBytesMax`, however long a line is: the end
 * of a longer one is found without keeping it.
 */
export async function readLines(
  handle: FileHandle,
  from: number,
  lineBytesMax: number,
  final: boolean,
): Promise<Lines> {
  const chunk = await readAt(handle, from, chunkBytes)
  const end = chunk.lastIndexOf(lineFeed)
  if (end >= 0) {
    const next = from + end + 1
    return { lines: split(chunk.subarray(0, end + 1), from, lineBytesMax), next, atEnd: false, rest: 0 }
  }
  if (chunk.length === chunkBytes) return longLine(handle, from, lineBytesMax, final)
  return lastLine(chunk, from, lineBytesMax, final)
}

function split(chunk: Buffer, from: number, lineBytesMax: number): Line[] {
  const lines: Line[] = []
  for (let start = 0; start < chunk.length; ) {
    const end = chunk.indexOf(lineFeed, start)
    const line = lineOf(chunk.subarray(start, end), from + start, from + end + 1, lineBytesMax)
    if (line !== null) lines.push(line)
    start = end + 1
  }
  return lines
}

/** Null for an empty line. The body is copied when it would keep a whole chunk alive. */
function lineOf(bytes: Buffer, at: number, next: number, lineBytesMax: number): Line | null {
  const kept = keptOf(bytes.length, lineBytesMax)
  if (kept < bytes.length)
    return { body: Buffer.from(bytes.subarray(0, kept)), bytes: bytes.length, at, next }
  const body = bytes.at(-1) === carriageReturn ? bytes.subarray(0, -1) : bytes
  return body.length === 0 ? null : { body: Buffer.from(body), bytes: body.length, at, next }
}

function keptOf(bytes: number, lineBytesMax: number): number {
  return bytes <= lineBytesMax ? bytes : Math.min(keptBytes, lineBytesMax)
}

function lastLine(chunk: Buffer, from: number, lineBytesMax: number, final: boolean): Lines {
  const next = final ? from + chunk.length : from
  const line = final ? lineOf(chunk, from, next, lineBytesMax) : null
  return { lines: line === null ? [] : [line], next, atEnd: true, rest: from + chunk.length - next }
}

/** A line that is longer than a chunk. */
async function longLine(
  handle: FileHandle,
  from: number,
  lineBytesMax: number,
  final: boolean,
): Promise<Lines> {
  let at = from
  const buffer = Buffer.allocUnsafe(chunkBytes)
  for (;;) {
    const chunk = await readInto(buffer, handle, at)
    const end = chunk.indexOf(lineFeed)
    at += end >= 0 ? end : chunk.length
    if (end >= 0) return { ...(await wholeLine(handle, from, at, at + 1, lineBytesMax)), atEnd: false }
    if (chunk.length === chunkBytes) continue
    if (final) return { ...(await wholeLine(handle, from, at, at, lineBytesMax)), atEnd: true }
    return { lines: [], next: from, atEnd: true, rest: at - from }
  }
}

async function wholeLine(handle: FileHandle, from: number, end: number, next: number, lineBytesMax: number) {
  const bytes = end - from
  const kept = keptOf(bytes, lineBytesMax)
  const body = await readAt(handle, from, kept)
  const line = bytes === kept ? lineOf(body, from, next, lineBytesMax) : { body, bytes, at: from, next }
  return { lines: line === null ? [] : [line], next, rest: 0 }
}

export function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  return readInto(Buffer.allocUnsafe(length), handle, position)
}

async function readInto(buffer: Buffer, handle: FileHandle, position: number): Promise<Buffer> {
  let filled = 0
  while (filled < buffer.length) {
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, position + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}
