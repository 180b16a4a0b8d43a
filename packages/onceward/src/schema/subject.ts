/**
 * How a subject is named. `topic`: `payments-value`. `record`: the full name of the record, such as
 * `shop.Payment`. `topic-record`: both, `payments-shop.Payment`. Or the name itself.
 */
export type SubjectChoice = 'topic' | 'record' | 'topic-record' | { readonly name: string }

/** `record` is empty for schemas without a name, such as JSON Schema without a title. */
export function subjectOf(choice: SubjectChoice, topic: string, record: string): string {
  if (typeof choice === 'object') return choice.name
  switch (choice) {
    case 'topic':
      return `${topic}-value`
    case 'record':
      return record
    case 'topic-record':
      return `${topic}-${record}`
  }
}
