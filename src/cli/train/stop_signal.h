#pragma once

namespace fulgurite::cli {

/// Turns SIGINT, SIGTERM and SIGHUP into stop requests, which a loop polls; a second one ends the process as usual.
/// Signals that the process ignores (nohup) stay ignored.
void catch_stop_signals();
/// The signal that requested a stop; 0 if none did.
int stop_signal();

}  // namespace fulgurite::cli
