import type { FlowSchema } from '../../generated/types.ts';

export function defaultFlowSchema({ spec }: FlowSchema): void {
  if (spec) spec.matchingPrecedence ||= 1000;
}
