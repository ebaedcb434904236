/** The records of one name and type, each as wire.ts writes them. */
export interface RecordSet {
  readonly type: number;
  readonly records: string[];
}

/** What is known of one name. Only the index changes it. */
export interface NameNode {
  /** One for each type; empty where the name only has names below it. */
  sets: readonly RecordSet[];
  /** Services of this name; with one, and no records, the name does not exist but belongs to no other zone either. */
  services: number;
  /** How many names there are directly below. */
  children: number;
}

/** Of a node the records of a type. */
export function setOf(node: NameNode, type: number): RecordSet | undefined {
  for (const set of node.sets) if (set.type === type) return set;
  return undefined;
}
