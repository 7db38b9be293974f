// Search from anywhere: Ctrl/⌘-K.
