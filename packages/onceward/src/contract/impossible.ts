/** Why an option cannot have its value beside the others. The compiler prints the sentence. */
export interface Impossible<Why extends string> {
  readonly [impossible]: Why
}
declare const impossible: unique symbol

/** Adds an error to an option if the condition holds. */
export type If<Condition extends boolean, Why extends string> = Condition extends true
  ? Impossible<Why>
  : unknown

/** The type of an option; `undefined` if it is not set, and `unknown` if nothing is known of the options. */
export type At<Options, Key extends PropertyKey> = object extends Options
  ? unknown
  : [Options] extends [undefined]
    ? undefined
    : Key extends keyof NonNullable<Options>
      ? NonNullable<Options>[Key]
      : undefined

/** True if the value certainly is one of `Values`. A value that is only known at run time is not. */
export type Is<Value, Values> = [Value] extends [never]
  ? false
  : unknown extends Value
    ? false
    : [Value] extends [Values]
      ? true
      : false

/** True if the value certainly is none of `Values`. */
export type IsNot<Value, Values> = unknown extends Value
  ? false
  : [Extract<Value, Values>] extends [never]
    ? true
    : false

/** True if the option is certainly set, and certainly not set. */
export type IsSet<Value> = unknown extends Value ? false : undefined extends Value ? false : true
export type IsUnset<Value> = Is<Value, undefined>

export type And<A extends boolean, B extends boolean> = A extends true ? B : false
