/** The messages of a `.proto` file, as far as places, names and fields go. */
export interface ProtoFile {
  readonly package: string
  readonly messages: readonly ProtoMessage[]
  /** Simple names of all enums. */
  readonly enums: ReadonlySet<string>
}

export interface ProtoMessage {
  readonly name: string
  /** With package and outer messages. */
  readonly fullName: string
  /** In order; those that protoc makes of `map` fields are among them. */
  readonly nested: readonly ProtoMessage[]
  readonly isMapEntry: boolean
  readonly fields: readonly ProtoField[]
}

export interface ProtoField {
  readonly name: string
  readonly number: number
  /** As written: a scalar or the name of an enum or message; `map` for maps. */
  readonly type: string
  readonly repeated: boolean
}

interface OpenMessage extends ProtoMessage {
  readonly nested: OpenMessage[]
  readonly fields: ProtoField[]
}

/** A block whose statements belong to `message`; null: they are skipped. */
interface Block {
  readonly message: OpenMessage | null
  readonly top: boolean
}

const depthMax = 100

/**
 * Reads what a consumer needs to find its message in a registered schema. A registry sends the text of the
 * file; its compiled form is not part of every registry's interface.
 */
export function parseProto(text: string): ProtoFile {
  const messages: OpenMessage[] = []
  const enums = new Set<string>()
  let space = ''
  let statement: string[] = []
  const blocks: Block[] = [{ message: null, top: true }]
  const end = (block: Block) => {
    if (statement[0] === 'package' && block.top) space = statement.slice(1).join('')
    if (block.message !== null) addField(block.message, statement)
    statement = []
  }
  for (const token of tokensOf(text)) {
    const block = blocks.at(-1)!
    if (token === ';') end(block)
    else if (token === '{') {
      if (blocks.length > depthMax) throw new RangeError(`nested deeper than ${depthMax}`)
      if (statement[0] === 'enum') enums.add(statement[1] ?? '')
      blocks.push(open(statement, block, messages, space))
      statement = []
    } else if (token === '}') {
      if (blocks.length === 1) throw new SyntaxError('a brace is closed that was not opened')
      blocks.pop()
      statement = []
    } else statement.push(token)
  }
  if (blocks.length > 1) throw new SyntaxError('a brace is not closed')
  return { package: space, messages, enums }
}

function* tokensOf(text: string): Iterable<string> {
  const plain = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g, ' ')
  for (const [token] of plain.matchAll(/[\w.]+|[^\s\w.]/g)) yield token
}

function open(
  statement: readonly string[],
  { message, top }: Block,
  messages: OpenMessage[],
  space: string,
): Block {
  const [first] = statement
  if (first === 'message' && (top || message !== null)) {
    const made = newMessage(statement[1] ?? '', message, space)
    ;(message?.nested ?? messages).push(made)
    return { message: made, top: false }
  }
  if (message === null) return { message: null, top: false }
  const group = statement.indexOf('group')
  if (group >= 0 && group <= 1) {
    const name = statement[group + 1] ?? ''
    const made = newMessage(name, message, space)
    message.nested.push(made)
    addField(message, [...statement.slice(0, group), name, name.toLowerCase(), ...statement.slice(group + 2)])
    return { message: made, top: false }
  }
  // The fields of a oneof are fields of its message.
  if (first === 'oneof' || first === 'extend') return { message, top: false }
  addField(message, statement)
  return { message: null, top: false }
}

function newMessage(
  name: string,
  outer: ProtoMessage | null,
  space: string,
  isMapEntry = false,
): OpenMessage {
  const prefix = outer?.fullName ?? space
  const fullName = prefix === '' ? name : `${prefix}.${name}`
  return { name, fullName, nested: [], isMapEntry, fields: [] }
}

const labels = new Set(['optional', 'required', 'repeated'])
const otherStatements = new Set([
  'option',
  'reserved',
  'extensions',
  'syntax',
  'import',
  'enum',
  'rpc',
  'service',
])

function addField(message: OpenMessage, statement: readonly string[]): void {
  const equals = statement.indexOf('=')
  if (equals < 2 || otherStatements.has(statement[0]!)) return
  const number = Number(statement[equals + 1])
  const name = statement[equals - 1]!
  if (!Number.isSafeInteger(number)) return
  const [label] = statement
  if (label === 'map' && statement[1] === '<') {
    message.nested.push(newMessage(entryName(name), message, '', true))
    message.fields.push({ name, number, type: 'map', repeated: true })
    return
  }
  const type = statement.slice(labels.has(label!) ? 1 : 0, equals - 1).join('')
  message.fields.push({ name, number, type, repeated: label === 'repeated' })
}

/** As protoc names it: `line_items` becomes `LineItemsEntry`. */
function entryName(field: string): string {
  return `${field.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Entry`
}

/**
 * The message at a place of the file; several where serializers disagree: some count the messages of maps,
 * some do not.
 */
export function messagesAt({ messages }: ProtoFile, indexes: readonly number[]): readonly ProtoMessage[] {
  const all = walk(messages, indexes, () => true)
  const declared = walk(messages, indexes, ({ isMapEntry }) => !isMapEntry)
  return [...new Set([all, declared])].filter(one => one !== null)
}

function walk(
  messages: readonly ProtoMessage[],
  indexes: readonly number[],
  counts: (message: ProtoMessage) => boolean,
): ProtoMessage | null {
  let among = messages
  let found: ProtoMessage | null = null
  for (const index of indexes) {
    found = among.filter(counts)[index] ?? null
    if (found === null) return null
    among = found.nested
  }
  return found === null || found.isMapEntry ? null : found
}

export function allMessages(messages: readonly ProtoMessage[]): readonly ProtoMessage[] {
  return messages.flatMap(message => [message, ...allMessages(message.nested)])
}
