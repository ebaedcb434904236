/** Label keys around services: Kubernetes' names, which tools read. */
export const serviceLabels = {
  /** On an EndpointSlice: the service. */
  serviceName: 'kubernetes.io/service-name',
  /** On an EndpointSlice: which program keeps it. */
  managedBy: 'endpointslice.kubernetes.io/managed-by',
  /** On EndpointSlices and Endpoints: the service has no address of its own. */
  headless: 'service.kubernetes.io/headless',
  /** On Endpoints: "true" where no slices shall be made of them. */
  skipMirror: 'endpointslice.kubernetes.io/skip-mirror',
  /** On Endpoints: which program keeps them. */
  endpointsManagedBy: 'endpoints.kubernetes.io/managed-by',
} as const;

export const managers = {
  slices: 'endpointslice-controller.k8s.io',
  mirroredSlices: 'endpointslicemirroring-controller.k8s.io',
  endpoints: 'endpoint-controller',
} as const;

/** On Endpoints that hold fewer addresses than there are: "truncated". */
export const overCapacityAnnotation = 'endpoints.kubernetes.io/over-capacity';
