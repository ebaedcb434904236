/** What hollow nodes pretend to be, and what their pods do. */
export interface HollowOptions {
  /** Nodes are called PREFIX-0, PREFIX-1 and so on. */
  readonly namePrefix?: string | undefined;
  /** What each node has, as Kubernetes writes quantities. */
  readonly cpu?: string | undefined;
  readonly memory?: string | undefined;
  readonly pods?: number | undefined;
  /** Spreads the nodes over so many zones, "zone-0" and so on; 0: they have no zone. */
  readonly zones?: number | undefined;
  /** How long after its start a container is ready. */
  readonly readyAfterMs?: number | undefined;
  /**
   * How long after its start a container ends with exit code 0; absent: never. With 0 only those
   * containers end that are not restarted (restartPolicy other than Always), as the ones of Jobs.
   */
  readonly runForMs?: number | undefined;
  /** How much of what containers request they are said to use. */
  readonly usagePercent?: number | undefined;
}

export type CompleteHollowOptions = Required<Omit<HollowOptions, 'runForMs'>> & Pick<HollowOptions, 'runForMs'>;

export const hollowDefaults = {
  namePrefix: 'hollow',
  cpu: '8',
  memory: '32Gi',
  pods: 110,
  zones: 0,
  readyAfterMs: 0,
  usagePercent: 10,
} as const satisfies HollowOptions;

export function completeHollowOptions(options: HollowOptions): CompleteHollowOptions {
  const said = Object.entries(options).filter(([, value]) => value !== undefined);
  return { runForMs: undefined, ...hollowDefaults, ...(Object.fromEntries(said) as HollowOptions) } as CompleteHollowOptions;
}

export const hollowNodeName = (prefix: string, index: number): string => `${prefix}-${index}`;
