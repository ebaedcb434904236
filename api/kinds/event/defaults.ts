import type { Event } from '../../generated/types.ts';

/** An event is normal and counted once; its source names the component in both of the places that readers look at. */
export function defaultEvent(event: Event): void {
  event.type ||= 'Normal';
  const component = event.source?.component ?? event.reportingComponent;
  if (component === undefined) return;
  event.reportingComponent ??= component;
  event.source ??= {};
  event.source.component ??= component;
}
