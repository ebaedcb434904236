/** Where a node stands in the template, for messages. */
export interface Place {
  readonly at: number;
  readonly end: number;
}

export type Operand = Place &
  (
    | { readonly type: 'dot' }
    | { readonly type: 'nil' }
    | { readonly type: 'constant'; readonly value: string | number | boolean }
    | { readonly type: 'field'; readonly names: readonly string[] }
    | { readonly type: 'variable'; readonly name: string; readonly names: readonly string[] }
    | { readonly type: 'function'; readonly name: string }
    | { readonly type: 'chain'; readonly of: Operand; readonly names: readonly string[] }
    | { readonly type: 'pipeline'; readonly pipeline: Pipeline }
  );

/** One stage of a pipeline: a value, or a function with its arguments. */
export interface Command extends Place {
  readonly words: readonly [Operand, ...Operand[]];
}

export interface Pipeline extends Place {
  /** The variables that are declared or set. */
  readonly variables: readonly string[];
  readonly isAssignment: boolean;
  readonly commands: readonly Command[];
}

export type Node = Place &
  (
    | { readonly type: 'text'; readonly text: string }
    | { readonly type: 'action'; readonly pipeline: Pipeline }
    | {
        readonly type: 'if' | 'with' | 'range';
        readonly pipeline: Pipeline;
        readonly body: readonly Node[];
        readonly otherwise: readonly Node[];
      }
    | { readonly type: 'template'; readonly name: string; readonly pipeline: Pipeline | undefined }
    | { readonly type: 'break' | 'continue' }
  );

export interface Template {
  readonly text: string;
  readonly body: readonly Node[];
  /** What {{define}} and {{block}} made. */
  readonly defined: ReadonlyMap<string, readonly Node[]>;
}
